/** An app whose queue runs, in a folder of its own; the node's own collection is the app's repository. */
import { type DocumentsClient, documentsClient } from "./documents-client.ts";
import { tempDir } from "./temp-dir.ts";
import { type TestApp, type TestAppOptions, testApp } from "./test-app.ts";

export interface RunningDocuments extends AsyncDisposable {
  app: TestApp;
  client: DocumentsClient;
  /** The data dir. */
  place: string;
}

export async function runningDocuments(options: TestAppOptions = {}): Promise<RunningDocuments> {
  const folder = await tempDir();
  const place = options.documents?.folder ?? folder.path;
  const app = testApp({ ...options, documents: { ...options.documents, folder: place } });
  const prefixes = { queryPrefix: "", documentPrefix: "" };
  await app.documents.collections.attach("default", { repository: app.repository, prefixes });
  const stop = new AbortController();
  const running = app.documents.run(stop.signal);
  return {
    app,
    client: documentsClient(app),
    place,
    async [Symbol.asyncDispose]() {
      stop.abort();
      await running;
      await app.documents[Symbol.asyncDispose]();
      await app.registry[Symbol.asyncDispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
}
