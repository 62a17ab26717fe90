/** The proxies of deploy/, each with the shipped file; only ports, paths and the certificate are the test's. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { freePort } from "./free-port.ts";
import { installed, runProgram } from "./installed-program.ts";
import { tempDir } from "./temp-dir.ts";

export interface RunningProxy extends AsyncDisposable {
  port: number;
  /** Asks through the proxy, over TLS. */
  fetch(path: string, init?: RequestInit): Promise<Response>;
}

interface Place {
  folder: string;
  port: number;
  /** Of the node: `127.0.0.1:1234`. */
  upstream: string;
  certificate: string;
  key: string;
}

/** The text with each part replaced; a part that is not there is a mistake of the test's. */
export function adapted(text: string, parts: readonly (readonly [string, string])[]): string {
  return parts.reduce((whole, [from, to]) => {
    if (!whole.includes(from)) throw new Error(`The shipped file has no '${from}'`);
    return whole.replaceAll(from, to);
  }, text);
}

export const shipped = (name: string): Promise<string> =>
  Bun.file(join(import.meta.dir, "..", "..", "deploy", name)).text();

/** A whole configuration of nginx around the block of a shipped one. */
function nginxAround(block: string, folder: string): string {
  const kinds = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
  const temporary = kinds.map((kind) => `${kind}_temp_path ${folder}/${kind};`).join(" ");
  return `daemon off; user root; pid ${folder}/nginx.pid; error_log stderr warn;
events {}
http { access_log off; ${temporary}
${block}
}`;
}

/** The shipped proxy before two nodes, by their hosts with ports. */
export async function proxyBeforeNodes(
  program: string,
  [one, other]: readonly [string, string],
): Promise<{ ask(path: string, init?: RequestInit): Promise<Response> } & AsyncDisposable> {
  await using resources = new AsyncDisposableStack();
  const folder = resources.use(await tempDir());
  const port = await freePort();
  const block = adapted(await shipped("compose/nginx.conf"), [
    ["paddock-1:8080", one],
    ["paddock-2:8080", other],
    ["listen 8080;", `listen 127.0.0.1:${port};`],
  ]);
  const file = join(folder.path, "nginx.conf");
  await writeFile(file, nginxAround(block, folder.path));
  const ask = (path: string, init?: RequestInit) => fetch(`http://127.0.0.1:${port}${path}`, init);
  resources.use(
    await runProgram([program, "-e", "stderr", "-c", file], {
      cwd: folder.path,
      isReady: async () => (await ask("/health")).ok,
    }),
  );
  const owned = resources.move();
  return { ask, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

async function nginxCommand(program: string, place: Place): Promise<string[]> {
  const block = adapted(await shipped("nginx.conf"), [
    ["listen 443 ", `listen 127.0.0.1:${place.port} `],
    // There may be no IPv6 here.
    ["    listen [::]:443 ssl http2;\n", ""],
    ["/etc/letsencrypt/live/node.example.org/fullchain.pem", place.certificate],
    ["/etc/letsencrypt/live/node.example.org/privkey.pem", place.key],
    ["127.0.0.1:8080", place.upstream],
  ]);
  const file = join(place.folder, "nginx.conf");
  await writeFile(file, nginxAround(block, place.folder));
  return [program, "-e", "stderr", "-c", file];
}

async function caddyCommand(program: string, place: Place): Promise<string[]> {
  const text = adapted(await shipped("Caddyfile"), [
    // HTTP/3 would want the UDP port too, by which the port is reserved.
    ["{\n\tservers {", "{\n\tadmin off\n\tauto_https off\n\tservers {\n\t\tprotocols h1 h2"],
    [
      "node.example.org {",
      `https://127.0.0.1:${place.port} {\n\tbind 127.0.0.1\n\ttls ${place.certificate} ${place.key}`,
    ],
    ["127.0.0.1:8080", place.upstream],
  ]);
  const file = join(place.folder, "Caddyfile");
  await writeFile(file, text);
  return [program, "run", "--adapter", "caddyfile", "--config", file];
}

const commands = { nginx: nginxCommand, caddy: caddyCommand };

/** Starts one before a node; undefined where it is not installed, which is said. */
export function proxyStarter(name: keyof typeof commands) {
  const program = installed(name);
  const openssl = installed("openssl");
  if (program === undefined || openssl === undefined) return undefined;
  return async (upstream: string): Promise<RunningProxy> => {
    const folder = await tempDir();
    const certificate = join(folder.path, "certificate.pem");
    const key = join(folder.path, "key.pem");
    const subject = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"];
    const kind = ["-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];
    const made = Bun.spawnSync(
      [openssl, "req", ...kind, "-days", "2", ...subject, "-keyout", key, "-out", certificate],
      { stdout: "ignore", stderr: "pipe" },
    );
    if (!made.success) throw new Error(`No certificate: ${made.stderr}`);
    const port = await freePort();
    const ca = await Bun.file(certificate).text();
    const ask = (path: string, init: RequestInit = {}): Promise<Response> =>
      fetch(`https://127.0.0.1:${port}${path}`, { ...init, tls: { ca } });
    const place = { folder: folder.path, port, upstream, certificate, key };
    const running = await runProgram(await commands[name](program, place), {
      cwd: folder.path,
      isReady: async () => (await ask("/health")).ok,
    });
    return {
      port,
      fetch: ask,
      async [Symbol.asyncDispose]() {
        await running[Symbol.asyncDispose]();
        await folder[Symbol.asyncDispose]();
      },
    };
  };
}
