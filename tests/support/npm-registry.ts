/** A registry on this machine with one package, whose archive is made from what the test gives. */

export interface RegistryOptions {
  files: Readonly<Record<string, Uint8Array | string>>;
  /** What the registry says of the archive; default: the truth. */
  integrity?: string;
  /** The archive as it is sent; default: whole. */
  sent?: (archive: Uint8Array<ArrayBuffer>) => Uint8Array<ArrayBuffer>;
  /** Where the registry says that the archive is; default: at the registry. */
  tarballOrigin?: string;
}

export interface TestRegistry extends Disposable {
  url: string;
  /** What was asked for, with the token that was shown. */
  asked: { path: string; token: string | null }[];
}

export const testPackage = { package: "@made/weights", version: "1.0.0" } as const;

export function startRegistry({
  files,
  integrity,
  sent = (archive) => archive,
  tarballOrigin,
}: RegistryOptions): TestRegistry {
  const archive = Bun.gzipSync(tarOf(files));
  const digest = new Bun.CryptoHasher("sha512").update(archive).digest("base64");
  const asked: TestRegistry["asked"] = [];
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch(request) {
      const { pathname, origin } = new URL(request.url);
      asked.push({ path: pathname, token: request.headers.get("authorization") });
      if (pathname.endsWith(".tgz")) return new Response(sent(archive));
      if (pathname !== "/@made%2fweights/1.0.0") return new Response("{}", { status: 404 });
      const tarball = `${tarballOrigin ?? origin}/weights-1.0.0.tgz`;
      return Response.json({ dist: { tarball, integrity: integrity ?? `sha512-${digest}` } });
    },
  });
  return {
    url: `http://127.0.0.1:${server.port}`,
    asked,
    [Symbol.dispose]: () => void server.stop(true),
  };
}

/** A tar archive as npm makes it: everything under `package/`. */
export function tarOf(files: RegistryOptions["files"]): Uint8Array<ArrayBuffer> {
  const parts = Object.entries(files).flatMap(([name, content]) => {
    const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
    return [tarHeader(`package/${name}`, bytes.length), bytes, padding(bytes.length)];
  });
  return Uint8Array.from(Buffer.concat([...parts, new Uint8Array(1024)]));
}

export function tarHeader(name: string, size: number, type = "0"): Uint8Array {
  const header = new Uint8Array(512);
  const put = (text: string, at: number): void => header.set(new TextEncoder().encode(text), at);
  put(name.slice(0, 100), 0);
  put("0000644\0", 100);
  put(`${size.toString(8).padStart(11, "0")}\0`, 124);
  put("        ", 148);
  put(type, 156);
  put("ustar\x0000", 257);
  const sum = header.reduce((total, byte) => total + byte, 0);
  put(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  return header;
}

export const padding = (size: number): Uint8Array => new Uint8Array((512 - (size % 512)) % 512);
