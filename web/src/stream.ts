// Server-sent events read by fetch, since EventSource cannot send a bearer token (HTML living standard, 9.2).
import { ApiError, request } from "./api";

export interface ServerEvent {
  event: string;
  data: string;
  id: string;
}

/** Pieces of text in, whole events out. Comments and unknown fields are passed over. */
export class EventParser {
  private buffer = "";
  private event = "";
  private data: string[] = [];
  private id = "";

  feed(text: string): ServerEvent[] {
    this.buffer += text;
    const found: ServerEvent[] = [];
    for (;;) {
      const end = /\r\n|\n|\r(?=.)/s.exec(this.buffer);
      if (!end) return found;
      this.line(this.buffer.slice(0, end.index), found);
      this.buffer = this.buffer.slice(end.index + end[0].length);
    }
  }

  private line(line: string, found: ServerEvent[]): void {
    if (line === "") {
      if (this.data.length > 0) found.push({ event: this.event || "message", data: this.data.join("\n"), id: this.id });
      this.event = "";
      this.data = [];
      return;
    }
    const colon = line.indexOf(":");
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + (line[colon + 1] === " " ? 2 : 1));
    if (field === "event") this.event = value;
    else if (field === "data") this.data.push(value);
    else if (field === "id") this.id = value;
  }
}

export type StreamState = "connecting" | "live" | "waiting";

/**
 * Follows a stream until it is ended, and connects again with growing pauses. `onState` "waiting": there is no stream for the
 * moment; who needs fresh data asks by himself. A page that nobody sees has no stream: a browser opens few connections to one
 * server, for all its tabs and for the pages that it keeps for its back button, and they would be used up.
 */
export function follow(url: string, onEvent: (event: ServerEvent) => void, onState: (state: StreamState) => void): () => void {
  let connection: AbortController | undefined;
  let pause = 1_000;
  let timer: ReturnType<typeof setTimeout> | undefined;

  async function read(signal: AbortSignal): Promise<void> {
    onState("connecting");
    const response = await request(url, "text/event-stream", signal);
    const reader = response.body!.getReader();
    const decoder = new TextDecoder();
    const parser = new EventParser();
    onState("live");
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      pause = 1_000;
      for (const event of parser.feed(decoder.decode(value, { stream: true }))) onEvent(event);
    }
  }

  function again(signal: AbortSignal, error?: unknown): void {
    if (signal.aborted) return;
    onState("waiting");
    // A refusal does not pass by itself: 401 waits for a token, 403 and 404 stay.
    if (error instanceof ApiError && [401, 403, 404, 501].includes(error.status)) return;
    timer = setTimeout(start, pause);
    pause = Math.min(pause * 2, 30_000);
  }

  function start(): void {
    connection = new AbortController();
    const { signal } = connection;
    read(signal).then(
      () => again(signal),
      (error) => again(signal, error),
    );
  }

  function stop(): void {
    connection?.abort();
    connection = undefined;
    clearTimeout(timer);
  }

  function look(): void {
    if (document.visibilityState === "visible") {
      if (!connection) start();
    } else if (connection) {
      stop();
      onState("waiting");
    }
  }

  document.addEventListener("visibilitychange", look);
  look();
  return () => {
    document.removeEventListener("visibilitychange", look);
    stop();
  };
}
