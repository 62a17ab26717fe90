/** A network in which every server redirects to one place; keeps what was asked. */
import { spyOn } from "bun:test";

export function redirectingFetch(location: string): Disposable & { urls: string[] } {
  const urls: string[] = [];
  const answer = async (input: unknown): Promise<Response> => {
    urls.push(String(input));
    return urls.length > 1
      ? new Response("reached")
      : new Response(null, { status: 302, headers: { location } });
  };
  const spy = spyOn(globalThis, "fetch").mockImplementation(
    Object.assign(answer, { preconnect: () => {} }),
  );
  return {
    urls,
    [Symbol.dispose]: () => spy.mockRestore(),
  };
}
