/** What the server knows of a request's connection, which the request itself does not say. */

export interface Connection {
  /** The client's address; absent where the server cannot tell it. */
  address?: string;
  /** Called when the answer has ended: from then on the connection is idle. */
  onIdle: () => void;
}

export class Connections {
  readonly #of = new WeakMap<Request, Connection>();

  opened(request: Request, connection: Connection): void {
    this.#of.set(request, connection);
  }

  /** The client's address, or of an IPv6 address the network: a client has all of it to choose from. */
  clientOf(request: Request): string | undefined {
    const address = this.#of.get(request)?.address;
    return address === undefined ? undefined : toClient(address);
  }

  /** Says so once: what comes later may be of the next request on the same connection. */
  ended(request: Request): void {
    const connection = this.#of.get(request);
    this.#of.delete(request);
    connection?.onIdle();
  }
}

const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i;

function toClient(address: string): string {
  const ipv4 = mapped.exec(address)?.[1];
  if (ipv4 !== undefined) return ipv4;
  if (!address.includes(":")) return address;
  const [head = "", tail] = address.toLowerCase().replace(/%.*$/, "").split("::");
  const before = head.split(":").filter((group) => group !== "");
  const after = (tail ?? "").split(":").filter((group) => group !== "");
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => "0");
  const groups = tail === undefined ? before : [...before, ...zeros, ...after];
  return `${groups
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(":")}::/64`;
}
