/** The app on scripted engines, listening: for tests that come with a browser or a socket. */
import { listen } from "../../src/server/listen.ts";
import { type LogLine, recordingLog } from "./recording-log.ts";
import { type TestApp, type TestAppOptions, testApp } from "./test-app.ts";

export interface ListeningApp extends TestApp, AsyncDisposable {
  origin: string;
  /** What the server logs beside the app. */
  serverLog: LogLine[];
  /** Answers in the app's place where it gives a response; for what scripted engines cannot do. */
  instead: (request: Request) => Response | undefined;
  /** Stops listening and breaks what is being answered. */
  stop(): Promise<void>;
}

export function listeningApp(options: TestAppOptions = {}): ListeningApp {
  const app = testApp(options);
  const { connections } = app;
  const { log, lines } = recordingLog();
  const server = listen({
    ...{ port: 0, hostname: "127.0.0.1", keepAlive: 60, connections, log },
    app: { fetch: (request) => listening.instead(request) ?? app.handle(request) },
  });
  const stop = () => server.stop(true);
  const listening: ListeningApp = {
    ...app,
    origin: server.url.origin,
    instead: () => undefined,
    serverLog: lines,
    stop,
    [Symbol.asyncDispose]: stop,
  };
  return listening;
}
