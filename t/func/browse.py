#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""browse.py - open pages in one headless Chromium and keep what becomes of them.

browse.py PROFILE PAGE...       for each PAGE, which is NAME.html, write
        NAME.dom        the document once its scripts have run
        NAME.requests   the URLs that the page asked for, one a line
        NAME.console    what the browser says of the page: messages, errors
        NAME.charts     whether charts were drawn, and a list of the empty ones
        PROFILE is a folder for the browser's own files.

The browser is driven through a pipe (--remote-debugging-pipe), so that it starts once.
Requests are those that it attributes to the page: what it asks its vendor for on its
own account does not count. No host name has an address there.
"""
import html
import json
import os
import re
import subprocess
import sys

# The timers of a page have this long, in virtual time.
BUDGET_MS = 3000

# Without a zygote all processes are children, whose CPU time t/func/run -T can see.
FLAGS = '''--headless --no-sandbox --disable-gpu --disable-quic --no-first-run
    --disable-background-networking --disable-component-update --disable-sync
    --disable-extensions --disable-software-rasterizer --disable-breakpad
    --no-zygote --no-startup-window --no-proxy-server
    --remote-debugging-pipe'''.split()


class Browser:
    def __init__(self, profile):
        to_browser, self.commands = os.pipe()
        self.events, from_browser = os.pipe()
        # Chromium reads commands from descriptor 3 and writes to 4.
        self.process = subprocess.Popen(
            ['sh', '-c', f'exec chromium "$@" 3<&{to_browser} 4>&{from_browser}',
             'sh', *FLAGS, '--host-resolver-rules=MAP * ~NOTFOUND',
             '--user-data-dir=' + profile],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, pass_fds=(to_browser, from_browser))
        os.close(to_browser)
        os.close(from_browser)
        self.buffer = b''
        self.last_id = 0
        self.session = None
        self.seen = []

    def receive(self):
        """The next message; the browser's end is an error."""
        while b'\0' not in self.buffer:
            more = os.read(self.events, 1 << 20)
            if not more:
                sys.exit('the browser has ended')
            self.buffer += more
        text, self.buffer = self.buffer.split(b'\0', 1)
        message = json.loads(text)
        self.seen.append(message)
        return message

    def call(self, method, **params):
        self.last_id += 1
        command = {'id': self.last_id, 'method': method, 'params': params}
        if self.session:
            command['sessionId'] = self.session
        data = json.dumps(command).encode() + b'\0'
        while data:
            data = data[os.write(self.commands, data):]
        while True:
            message = self.receive()
            if message.get('id') == self.last_id:
                if 'error' in message:
                    sys.exit(f'{method}: {message["error"]}')
                return message['result']

    def wait_for(self, method, **wanted):
        """Until such an event was among those seen."""
        def is_it(message):
            params = message.get('params', {})
            return message.get('method') == method and all(
                params.get(key) == value for key, value in wanted.items())
        if not any(map(is_it, self.seen)):
            while not is_it(self.receive()):
                pass

    def open_tab(self):
        target = self.call('Target.createTarget', url='about:blank')
        self.session = self.call('Target.attachToTarget', flatten=True,
                                 targetId=target['targetId'])['sessionId']
        for domain in 'Page', 'Network', 'Runtime', 'Log':
            self.call(domain + '.enable')
        self.call('Page.setLifecycleEventsEnabled', enabled=True)

    def visit(self, url):
        """The document that URL becomes, and the events on the way."""
        self.seen = []
        # Time stands still once its budget is used up; loading needs some again.
        self.call('Emulation.setVirtualTimePolicy', policy='advance')
        loader = self.call('Page.navigate', url=url)['loaderId']
        self.wait_for('Page.lifecycleEvent', name='load', loaderId=loader)
        self.call('Emulation.setVirtualTimePolicy', budget=BUDGET_MS,
                  policy='pauseIfNetworkFetchesPending')
        self.wait_for('Emulation.virtualTimeBudgetExpired')
        result = self.call('Runtime.evaluate', returnByValue=True,
                           expression='document.documentElement.outerHTML')
        return result['result']['value'], self.seen

    def close(self):
        self.session = None
        self.call('Browser.close')
        self.process.wait()


def requests_of(events, url):
    asked = [e['params']['request']['url'] for e in events
             if e.get('method') == 'Network.requestWillBeSent']
    return sorted({a for a in asked if a != url.split('#')[0]
                   and not a.startswith(('data:', 'blob:'))})


def console_of(events):
    kinds = ('Runtime.consoleAPICalled', 'Runtime.exceptionThrown',
             'Log.entryAdded')
    return [json.dumps(e['params']) for e in events
            if e.get('method') in kinds]


def charts_of(dom):
    found = re.search('data-charts="(.*?)"', dom)
    charts = json.loads(html.unescape(found.group(1))) if found else []
    empty = [c['id'] for c in charts if not c['coloured']]
    return f'{len(charts) > 0} {empty}'


def write(path, lines):
    with open(path, 'w', encoding='utf-8', errors='replace') as out:
        out.write(''.join(line + '\n' for line in lines))


def main():
    browser = Browser(sys.argv[1])
    browser.open_tab()
    for page in sys.argv[2:]:
        url = f'file://{os.path.abspath(page)}#measure'
        dom, events = browser.visit(url)
        name = page.removesuffix('.html')
        write(name + '.dom', [dom])
        write(name + '.requests', requests_of(events, url))
        write(name + '.console', console_of(events))
        write(name + '.charts', [charts_of(dom)])
    browser.close()


main()
