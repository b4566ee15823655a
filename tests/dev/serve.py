"""A site on loopback for tests/dev/data: serve.py FOLDER PORT_FILE.

/good/FILE    FOLDER/FILE, from where a Range header says
/cut/FILE     the same, but the connection breaks after 5000 bytes
/whole/FILE   from the beginning whatever is asked for, and breaks where /cut does the first time
/wrong/FILE   as many bytes, one of them wrong
/more/FILE    all of it, from the beginning, as a part of something longer; /less/FILE: its first 6000 bytes, as all of it
/slow/FILE    its first 9000 bytes, then nothing for a while
/moved/FILE   is at /cut/FILE
Anything else is not found.
"""
import http.server
import pathlib
import sys
import time

folder, port_file = map(pathlib.Path, sys.argv[1:])
asked = set()


class Site(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        _, way, name = (self.path.split("/", 2) + ["", ""])[:3]
        file = folder / name
        if way not in ("good", "cut", "whole", "wrong", "more", "less", "slow", "moved") or not file.is_file():
            return self.send_error(404)
        if way == "moved":
            self.send_response(302)
            self.send_header("Location", f"/cut/{name}")
            return self.end_headers()
        data = file.read_bytes()
        if way == "wrong":
            data = data[:99] + bytes([data[99] ^ 1]) + data[100:]
        if way == "less":
            data = data[:6000]
        start = 0
        if way not in ("whole", "more") and "Range" in self.headers:
            start = int(self.headers["Range"].removeprefix("bytes=").rstrip("-"))
            if start >= len(data):
                return self.send_error(416)
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{len(data) - 1}/{len(data)}")
        else:
            self.send_response(200)
        self.send_header("Content-Length", len(data) - start + (1000 if way == "more" else 0))
        self.end_headers()
        cut = way == "cut" or (way == "whole" and self.path not in asked)
        asked.add(self.path)
        if way == "slow":
            self.wfile.write(data[:9000])
            time.sleep(20)
        self.wfile.write(data[start : start + 5000] if cut else data[start:])

    def log_message(self, *args):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site)
port_file.with_suffix(".new").write_text(str(server.server_port))
port_file.with_suffix(".new").rename(port_file)
server.serve_forever()
