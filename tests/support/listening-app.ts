/** The app on scripted engines, listening: for tests that come with a browser. */
import { type TestApp, type TestAppOptions, testApp } from "./test-app.ts";

export interface ListeningApp extends TestApp, AsyncDisposable {
  origin: string;
  /** Answers in the app's place where it gives a response; for what scripted engines cannot do. */
  instead: (request: Request) => Response | undefined;
  /** Stops listening and breaks what is being answered. */
  stop(): Promise<void>;
}

export function listeningApp(options: TestAppOptions = {}): ListeningApp {
  const app = testApp(options);
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    idleTimeout: 0,
    fetch: (request) => listening.instead(request) ?? app.handle(request),
  });
  const stop = () => server.stop(true);
  const listening: ListeningApp = {
    ...app,
    origin: server.url.origin,
    instead: () => undefined,
    stop,
    [Symbol.asyncDispose]: stop,
  };
  return listening;
}
