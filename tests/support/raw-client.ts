/** A client that sends what it is told byte by byte, as no HTTP client would. */

export interface RawClient extends Disposable {
  send(text: string): void;
  /** All that came so far. */
  received(): string;
  isClosed(): boolean;
  /** Waits until something comes, or the server closes. */
  changed(): Promise<void>;
}

export async function connectRaw(origin: string): Promise<RawClient> {
  const { hostname, port } = new URL(origin);
  let text = "";
  let isClosed = false;
  let change = Promise.withResolvers<void>();
  const note = () => {
    change.resolve();
    change = Promise.withResolvers<void>();
  };
  const close = () => {
    isClosed = true;
    note();
  };
  const socket = await Bun.connect({
    hostname,
    port: Number(port),
    socket: {
      data(_, bytes) {
        text += bytes.toString();
        note();
      },
      close,
      end: close,
      error: close,
    },
  });
  return {
    send: (more) => void socket.write(more),
    received: () => text,
    isClosed: () => isClosed,
    changed: () => change.promise,
    [Symbol.dispose]: () => socket.end(),
  };
}

/** Waits for the server to close; returns all that came. */
export async function closedBy(client: RawClient): Promise<string> {
  while (!client.isClosed()) await client.changed();
  return client.received();
}
