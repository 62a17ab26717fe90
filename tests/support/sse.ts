/** Reads a server-sent event stream into the data of its frames. */

export const readFrames = async (response: Response): Promise<string[]> =>
  (await wholeFrames(response)).map((frame) => frame.replace(/^data: /, ""));

/** The frames with the names of their events. */
export const wholeFrames = async (response: Response): Promise<string[]> =>
  (await response.text()).split("\n\n").filter((frame) => frame !== "" && !isComment(frame));

/** The frames as they arrive. */
export async function* frames(response: Response): AsyncGenerator<string> {
  let rest = "";
  const decoder = new TextDecoder();
  for await (const chunk of response.body ?? []) {
    rest += decoder.decode(chunk, { stream: true });
    const parts = rest.split("\n\n");
    rest = parts.pop() ?? "";
    for (const part of parts) if (!isComment(part)) yield part.replace(/^data: /, "");
  }
}

/** What keeps a connection alive while nothing is said. */
const isComment = (frame: string): boolean => frame.startsWith(":");
