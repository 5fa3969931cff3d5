"""As much of a notebook as a widget needs: a page with its module, and the messages between it and the kernel.

Messages go through the comm of the widget, as in Jupyter; a queue stands for the kernel's sockets. Playwright is not to
be called from other threads, so messages are carried whenever the test waits for something.
"""

import base64
import json
import queue
import time

HOST = "http://127.0.0.1:9/notebook"  # answered here: nobody listens there
MOUNT = """async ([module, style]) => {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(style);
  document.adoptedStyleSheets = [sheet];
  const listeners = new Set();
  const model = {
    on: (name, listener) => listeners.add(listener),
    off: (name, listener) => listeners.delete(listener),
    send: (content) => window.toKernel(JSON.stringify(content)),
  };
  const view = (text) => new DataView(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer);
  window.fromKernel = ([content, buffers]) => listeners.forEach((listener) => listener(content, buffers.map(view)));
  const url = URL.createObjectURL(new Blob([module], { type: "text/javascript" }));
  window.unmount = (await import(url)).default.render({ model, el: document.querySelector("#cell") });
  window.listening = () => listeners.size;
}"""


class Notebook:
    """A page that shows a widget."""

    def __init__(self, page, widget):
        self.page, self.widget = page, widget
        self._to_page, self._to_kernel = queue.SimpleQueue(), queue.SimpleQueue()
        widget.comm.publish_msg = self._on_message
        page.route(HOST, lambda route: route.fulfill(body="<div id=cell></div>", content_type="text/html"))
        page.expose_function("toKernel", lambda text: self._to_kernel.put(text))
        page.goto(HOST)
        page.evaluate(MOUNT, [widget._esm, widget._css])

    def _on_message(self, kind, data=None, metadata=None, buffers=None, **_):
        """Take a message of the widget, in any thread."""
        if kind == "comm_msg" and data["method"] == "custom":
            encoded = [base64.b64encode(buffer).decode() for buffer in buffers or ()]
            self._to_page.put((json.dumps(data["content"]), encoded))

    def carry(self):
        """Carry the messages that wait on either side."""
        while not self._to_kernel.empty():
            content = {"method": "custom", "content": json.loads(self._to_kernel.get())}
            self.widget.comm.handle_msg({"content": {"data": content}, "buffers": []})
        while not self._to_page.empty():
            content, buffers = self._to_page.get()
            self.page.evaluate("window.fromKernel", [json.loads(content), buffers])

    def until(self, condition, seconds=60.0):
        """Wait until an expression is true in the page."""
        end = time.monotonic() + seconds
        while not self.page.evaluate(condition):
            assert time.monotonic() < end, f"This did not become true within {seconds} s: {condition}"
            self.carry()
            self.page.wait_for_timeout(10)
