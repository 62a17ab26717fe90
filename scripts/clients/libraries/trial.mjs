/** One trial of a library, by the functions of its adapter; what comes of it is printed. */
import { ask, stream, useTool } from "./adapter.mjs";

const { ORIGIN, KEY, MODEL, QUESTION } = process.env;
const settings = { origin: ORIGIN, baseURL: `${ORIGIN}/v1`, apiKey: KEY, model: MODEL };
const [, , trial] = process.argv;

try {
  if (trial === "tool") console.log(await useTool(settings, QUESTION));
  else if (trial === "streamed" || trial === "abort") await read();
  else console.log(await ask(settings, QUESTION));
} catch (error) {
  console.log(
    String(error),
    error?.responseBody ?? error?.httpResponse?.body ?? "",
    error?.cause ?? "",
  );
  process.exitCode = 1;
}

async function read() {
  const leave = new AbortController();
  let pieces = 0;
  let text = "";
  try {
    for await (const piece of stream(settings, QUESTION, leave.signal)) {
      if (!piece) continue;
      pieces++;
      text += piece;
      if (trial === "abort") {
        leave.abort();
        break;
      }
    }
  } catch (error) {
    if (!leave.signal.aborted) throw error;
  }
  console.log(text, `(${pieces} pieces)`);
}
