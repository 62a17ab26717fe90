/** How much of a model's context a prompt may take, and how little has to go where it takes more. */

/** Tokens of the context that are left to the answer where the request does not say. */
const answerTokens = 512;
const answerShare = 0.25;
/** How full of its prompt the context may be once something had to go. */
const afterCut = 0.7;

/** Tokens. `maxTokens`: those of the answer, where that is known. */
export const promptRoom = (contextSize: number, maxTokens = answerTokens): number =>
  contextSize - Math.min(maxTokens, Math.floor(contextSize * answerShare));

/**
 * What may be left once something has to go. That is less than the room: each time the prompt begins
 * differently, all of it is evaluated again, so more goes at once and some turns to come find room.
 */
export const roomAfterCut = (room: number): number => Math.floor(room * afterCut);

/** The least number of a range that fits, its last where none does; by halves, since each try counts all tokens. */
export async function leastThatFits(
  [from, to]: readonly [number, number],
  fits: (count: number) => Promise<boolean>,
): Promise<number> {
  let [least, most] = [from, to];
  while (least < most) {
    const middle = (least + most) >> 1;
    if (await fits(middle)) most = middle;
    else least = middle + 1;
  }
  return most;
}
