// Talk to the server: requests, and a stream of events. What is sent again has the same number, and counts once.
import { Pictures } from "./pictures.js";

export class HttpConnection {
  constructor() {
    this.last = Promise.resolve();
    this.pictures = new Pictures(async (row) => (await this.ask(`/api/picture/${row}`)).blob());
  }

  listen(onEvent, onStatus) {
    const source = new EventSource("/api/events");
    for (const name of ["labels", "predictions", "progress"]) {
      source.addEventListener(name, (event) => onEvent(name, JSON.parse(event.data)));
    }
    source.onopen = () => onStatus("connected");
    source.onerror = async () => {
      onStatus("waiting");
      if (source.readyState !== EventSource.CLOSED) return; // the browser tries again
      const answer = await fetch("/api/state").catch(() => null);
      if (answer && answer.status === 401) onStatus("locked");
      else setTimeout(() => this.listen(onEvent, onStatus), 700);
    };
  }

  act(action) {
    const sent = this.last.then(() => this.post("/api/act", { ...action, op: crypto.randomUUID() }));
    this.last = sent.catch(() => {}); // one after the other, as they were pressed
    return sent;
  }

  async post(path, body) {
    return (await this.ask(path, { method: "POST", body: JSON.stringify(body) })).json();
  }

  async ask(path, options) {
    for (;;) {
      const answer = await fetch(path, options).catch(() => null);
      if (answer && answer.ok) return answer;
      if (answer && answer.status !== 503) throw new Error(await answer.text());
      await new Promise((resolve) => setTimeout(resolve, 400)); // nobody was there, or not ready yet: ask again
    }
  }

  save(what) {
    return this.post("/api/save", { what });
  }

  async positions() {
    return new Float32Array(await (await this.ask("/api/positions")).arrayBuffer());
  }

  async predictions() {
    return (await this.ask("/api/predictions")).arrayBuffer();
  }

  async item(row) {
    return (await this.ask(`/api/item/${row}`)).json();
  }

  async explain(row) {
    return (await this.ask(`/api/explain/${row}`)).json();
  }

  picture(row) {
    return this.pictures.get(row);
  }
}
