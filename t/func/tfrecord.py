# SPDX-License-Identifier: Apache-2.0
"""tfrecord.py - the frame of a record: its length, and checksums, a byte at a time, from the polynomial."""

import struct

table = []
for b in range(256):
    for _ in range(8):
        b = b >> 1 ^ (0x82f63b78 if b & 1 else 0)
    table.append(b)


def crc32c(data):
    crc = 0xffffffff
    for byte in data:
        crc = table[(crc ^ byte) & 255] ^ crc >> 8
    return crc ^ 0xffffffff


def masked(data):
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xa282ead8) & 0xffffffff


def record(data):
    """Its second checksum, at which few look, is left zero."""
    length = struct.pack('<Q', len(data))
    return length + struct.pack('<I', masked(length)) + data + bytes(4)


assert crc32c(b'123456789') == 0xe3069283
assert masked(b'123456789') == 0xc78ab0e5
