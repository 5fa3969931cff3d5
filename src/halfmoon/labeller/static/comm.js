// Talk to a notebook's kernel: the same questions as to the server, as messages with numbers.
import { Pictures } from "./pictures.js";

export class CommConnection {
  constructor(model) {
    this.model = model;
    this.waiting = new Map();
    this.number = 0;
    this.pictures = new Pictures(async (row) => new Blob([await this.ask("picture", row)], { type: "image/png" }));
    this.id = Math.random().toString(36).slice(2);
  }

  listen(onEvent, onStatus) {
    this.receive = (message, buffers) => {
      if (message.event) onEvent(message.event, message.data);
      else if (message.to === this.id && this.waiting.has(message.number)) {
        const { resolve, reject } = this.waiting.get(message.number);
        this.waiting.delete(message.number);
        if ("error" in message) reject(new Error(message.error));
        else resolve(buffers.length ? bytesOf(buffers[0]) : message.answer);
      }
    };
    this.model.on("msg:custom", this.receive);
    onStatus("connected");
    this.ask("state").then((state) => onEvent("labels", state));
  }

  close() {
    this.model.off("msg:custom", this.receive);
    this.pictures.clear();
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

  picture(row) {
    return this.pictures.get(row);
  }
}

function bytesOf(view) {
  return view.buffer ? view.buffer.slice(view.byteOffset, view.byteOffset + view.byteLength) : view;
}
