// Talk to a notebook's kernel: the same questions as to the server, as messages with numbers.

export class CommConnection {
  constructor(model) {
    this.model = model;
    this.waiting = new Map();
    this.number = 0;
    this.pictures = new Map();
    this.id = Math.random().toString(36).slice(2);
  }

  listen(onEvent, onStatus) {
    this.receive = (message, buffers) => {
      if (message.event) onEvent(message.event, message.data);
      else if (message.to === this.id && this.waiting.has(message.number)) {
        const { resolve, reject } = this.waiting.get(message.number);
        this.waiting.delete(message.number);
        if (message.error) reject(new Error(message.error));
        else resolve(buffers.length ? bytesOf(buffers[0]) : message.answer);
      }
    };
    this.model.on("msg:custom", this.receive);
    onStatus("connected");
    this.ask("state").then((state) => onEvent("labels", state));
  }

  close() {
    this.model.off("msg:custom", this.receive);
    for (const url of this.pictures.values()) URL.revokeObjectURL(url);
  }

  ask(question, data = null) {
    this.number += 1;
    const { number } = this;
    return new Promise((resolve, reject) => {
      this.waiting.set(number, { resolve, reject });
      this.model.send({ question, data, number, from: this.id });
    });
  }

  act(action) {
    return this.ask("act", { ...action, op: `${this.id}-${this.number}` });
  }

  save(what) {
    return this.ask("save", what);
  }

  async positions() {
    return new Float32Array(await this.ask("positions"));
  }

  predictions() {
    return this.ask("predictions");
  }

  item(row) {
    return this.ask("item", row);
  }

  explain(row) {
    return this.ask("explain", row);
  }

  async picture(row) {
    if (!this.pictures.has(row)) {
      const bytes = await this.ask("picture", row);
      this.pictures.set(row, URL.createObjectURL(new Blob([bytes], { type: "image/png" })));
    }
    return this.pictures.get(row);
  }
}

function bytesOf(view) {
  return view.buffer ? view.buffer.slice(view.byteOffset, view.byteOffset + view.byteLength) : view;
}
