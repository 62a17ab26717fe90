/** An app on scripted engines whose queue of documents runs, listening: for tests that come with a browser. */
import { type RunningDocuments, runningDocuments } from "./running-documents.ts";
import type { TestAppOptions } from "./test-app.ts";

export interface ListeningDocuments extends RunningDocuments {
  origin: string;
  /** Answers in the app's place where it gives a response. */
  instead: (request: Request) => Response | undefined;
}

export async function listeningDocuments(
  options: TestAppOptions = {},
): Promise<ListeningDocuments> {
  const resources = new AsyncDisposableStack();
  const running = resources.use(await runningDocuments(options));
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    idleTimeout: 0,
    fetch: (request) => listening.instead(request) ?? running.app.handle(request),
  });
  resources.defer(() => server.stop(true));
  const listening: ListeningDocuments = {
    ...running,
    origin: server.url.origin,
    instead: () => undefined,
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
  return listening;
}
