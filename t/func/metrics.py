#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""metrics.py - clients of --metrics: one asks, one is hostile, one reads a dashboard.

metrics.py get URL [ACCEPT]     print the page, behind a line with its type
metrics.py status URL METHOD... print the status of each of these pairs
metrics.py hostile URL          meet it with all that a server has to bear
metrics.py crowd URL PID        open 40 connections that wait; print how many
                                process PID has of them, and one asks then
metrics.py trickle URL          eight that send a byte a second; print how long
                                somebody else waits for a page, in s
metrics.py panels URL FILE FROM TO
        ask the Prometheus at URL each query of the dashboard FILE, over that
        time; print those that nothing comes of
"""
import json
import os
import re
import socket
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request


# The server has the least priority, so that it takes its time on a busy machine.
PATIENCE_S = 100


def ask(url, accept=None, method='GET'):
    request = urllib.request.Request(url, method=method)
    if accept:
        request.add_header('Accept', accept)
    return urllib.request.urlopen(request, timeout=PATIENCE_S)


def get(url, accept=None):
    with ask(url, accept) as answer:
        print(answer.headers['Content-Type'])
        sys.stdout.write(answer.read().decode())


def status(*pairs):
    for url, method in zip(pairs[::2], pairs[1::2]):
        try:
            with ask(url, None, method) as answer:
                print(answer.status)
        except urllib.error.HTTPError as e:
            print(e.code)


def family(place):
    return socket.AF_INET6 if ':' in place[0] else socket.AF_INET


def send(place, data):
    """Send without waiting for an answer; the socket, or None: was refused."""
    s = socket.socket(family(place))
    s.settimeout(0.2)
    try:
        s.connect(place)
        if data:
            s.sendall(data)
    except OSError:
        s.close()
        return None
    return s


def hostile(url):
    parts = urllib.parse.urlsplit(url)
    place = (parts.hostname, parts.port)
    opened = []
    # Half a request, and nothing at all.
    for data in (b'GET /metrics HT', b'GET', b'', b'\r\n' * 3) * 3:
        opened.append(send(place, data))
    # What is no HTTP, and headers that no request needs.
    for data in (b'\0\xff' * 5000, b'GET /metrics HTTP/9.9\r\n\r\n',
                 b'GET /' + b'a' * 100000 + b' HTTP/1.1\r\n\r\n',
                 b'GET /metrics HTTP/1.1\r\nA: ' + b'x' * 1000000,
                 b'GET /metrics HTTP/1.1\r\n' + b'A: b\r\n' * 50000,
                 b'POST /metrics HTTP/1.1\r\nContent-Length: 99999999999\r\n'
                 b'\r\n' + b'x' * 10000,
                 b'GET /metrics HTTP/1.1\r\nHost: h\r\n'
                 b'Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n'):
        opened.append(send(place, data))
    # As many as may be, each of which waits.
    many = []
    for _ in range(1000):
        s = socket.socket(family(place))
        s.setblocking(False)
        s.connect_ex(place)
        many.append(s)
    # Those that ask and do not stay for the answer.
    for s in many[:200]:
        try:
            s.send(b'GET /metrics HTTP/1.1\r\nHost: h\r\n\r\n')
        except OSError:
            pass
    for s in opened + many:
        if s:
            s.close()


def sockets_of(pid):
    n = 0
    for fd in os.listdir(f'/proc/{pid}/fd'):
        try:
            n += os.readlink(f'/proc/{pid}/fd/{fd}').startswith('socket:')
        except OSError:
            pass
    return n


def crowd(url, pid):
    parts = urllib.parse.urlsplit(url)
    place = (parts.hostname, parts.port)
    before = sockets_of(pid)
    opened = [send(place, b'GET /metrics HTTP/1.1\r\n') for _ in range(40)]
    most = 0
    end = time.monotonic() + PATIENCE_S
    while most < 8 and time.monotonic() < end:
        time.sleep(0.01)
        most = max(most, sockets_of(pid) - before)
    # Then there is time for one too many.
    for _ in range(10):
        time.sleep(0.02)
        most = max(most, sockets_of(pid) - before)
    for s in opened:
        if s:
            s.close()
    with ask(url) as answer:
        print(most, answer.status)


def trickle(url):
    parts = urllib.parse.urlsplit(url)
    place = (parts.hostname, parts.port)
    slow = [send(place, b'GET /metrics HTTP/1.1\r\nA: ') for _ in range(8)]
    begin = time.monotonic()

    def dribble():
        while time.monotonic() < begin + 60:
            for s in slow:
                try:
                    s.send(b'a')
                except OSError:
                    pass
            time.sleep(1)
    threading.Thread(target=dribble, daemon=True).start()
    time.sleep(0.5)
    with ask(url) as answer:
        answer.read()
    print(int(time.monotonic() - begin))


def expand(query):
    query = query.replace('$__rate_interval', '4s')
    query = re.sub(r'\$(section|host)\b', '.*', query)
    return query


def panels(url, path, begin, end):
    with open(path) as f:
        dashboard = json.load(f)
    asked = 0
    for panel in dashboard['panels']:
        for target in panel['targets']:
            query = expand(target['expr'])
            args = urllib.parse.urlencode({'query': query, 'start': begin,
                                           'end': end, 'step': '1'})
            asked += 1
            with ask(url + '/api/v1/query_range?' + args) as answer:
                if not json.load(answer)['data']['result']:
                    print(panel['title'] + ': ' + query)
    print('asked', asked)


if __name__ == '__main__':
    globals()[sys.argv[1]](*sys.argv[2:])
