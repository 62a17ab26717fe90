import { describe, expect, test } from "bun:test";
import { sendRequest } from "../../../../src/models/sources/http-request.ts";
import { hubFrom } from "../../../../src/models/sources/hub-reference.ts";
import { checkRedirect } from "../../../../src/models/sources/redirects.ts";
import { redirectingFetch } from "../../../support/redirecting-fetch.ts";
import { rejectionOf } from "../../../support/rejection.ts";

const nobody = async (): Promise<readonly string[]> => [];

const messageOf = async (began: string, from: string, to: string, lookup = nobody) => {
  try {
    await checkRedirect({ began, from, to }, lookup);
    return "followed";
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
};

const remote = "https://models.example/m.gguf";

describe("a redirect", () => {
  test.each([
    [remote, "https://cdn.example/blob"],
    [remote, "https://8.8.8.8/blob"],
    [remote, "https://[2001:4860:4860::8888]/blob"],
    ["http://127.0.0.1:1/m.gguf", "http://127.0.0.1:2/blob"],
    ["http://127.0.0.1:1/m.gguf", "https://cdn.example/blob"],
    ["http://localhost:1/m.gguf", "http://[::1]:2/blob"],
    ["http://localhost:1/m.gguf", "https://192.168.0.7/blob"],
    ["https://10.0.0.1/m.gguf", "https://192.168.0.7/blob"],
  ])("is followed from %s to %s", async (from, to) => {
    expect(await messageOf(from, from, to)).toBe("followed");
  });

  test.each([
    ["https://127.0.0.1/blob", "this machine"],
    ["https://127.9.9.9:8080/blob", "this machine"],
    ["https://2130706433/blob", "this machine"],
    ["https://localhost/blob", "this machine"],
    ["https://admin.localhost./blob", "this machine"],
    ["https://0.0.0.0/blob", "this machine"],
    ["https://[::1]/blob", "this machine"],
    ["https://[::]/blob", "this machine"],
    ["https://[::ffff:127.0.0.1]/blob", "this machine"],
    ["https://169.254.169.254/latest/meta-data", "a link-local address"],
    ["https://[fe80::1]/blob", "a link-local address"],
    ["https://10.1.2.3/blob", "a private network"],
    ["https://172.16.0.1/blob", "a private network"],
    ["https://192.168.1.1/blob", "a private network"],
    ["https://100.64.0.1/blob", "a private network"],
    ["https://[fd00::1]/blob", "a private network"],
    ["https://[::ffff:10.0.0.1]/blob", "a private network"],
    ["https://[64:ff9b::7f00:1]/blob", "this machine"],
  ])("of a remote source is not followed to %s", async (to, where) => {
    expect(await messageOf(remote, remote, to)).toBe(
      `models.example redirects to ${new URL(to).host}, which is ${where}: a source that is not there is not followed to it. Name that address as the source if you mean it.`,
    );
  });

  test("is not followed closer to this machine than the source itself, over any number of steps", async () => {
    const inside = "https://10.0.0.1/m.gguf";
    expect(await messageOf(inside, inside, "https://169.254.169.254/x")).toContain("link-local");
    expect(await messageOf(inside, inside, "https://127.0.0.1/x")).toContain("this machine");
    const back = await messageOf("http://127.0.0.1/m.gguf", remote, "http://127.0.0.1/x");
    expect(back).toContain("from https to http");
    expect(await messageOf(remote, "https://cdn.example/b", "https://10.0.0.1/x")).toContain(
      "cdn.example redirects to 10.0.0.1, which is a private network",
    );
  });

  test("is not followed to a name that leads to this machine or its networks", async () => {
    const lookup = async (): Promise<readonly string[]> => ["93.184.215.14", "192.168.0.7"];
    expect(await messageOf(remote, remote, "https://innocent.example/b", lookup)).toContain(
      "redirects to innocent.example, which is a private network",
    );
  });

  test("is not followed from https to http, nor to something else", async () => {
    expect(await messageOf(remote, remote, "http://models.example/m.gguf")).toBe(
      "models.example redirects to http://models.example, from https to http: a model is not fetched over a connection that anybody can change.",
    );
    expect(await messageOf(remote, remote, "file:///etc/passwd")).toContain("file:");
  });

  test("is not followed where it leads nowhere", async () => {
    using _ = redirectingFetch("http://");
    const asked = sendRequest({
      url: remote,
      hub: hubFrom({}),
      signal: new AbortController().signal,
    });
    expect(await rejectionOf(asked)).toMatchObject({
      message: "models.example redirects to something that is no address.",
    });
  });
});

test("a remote server cannot have this machine asked", async () => {
  await using secret = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response("") });
  for (const scheme of ["http", "https"]) {
    using fetched = redirectingFetch(`${scheme}://127.0.0.1:${secret.port}/m.gguf`);
    const asked = sendRequest({
      url: remote,
      hub: hubFrom({}),
      signal: new AbortController().signal,
    });
    expect(await rejectionOf(asked)).toMatchObject({ kind: "unavailable" });
    expect(fetched.urls).toEqual([remote]);
  }
});
