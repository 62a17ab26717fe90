/** Times as the OpenAI API has them: Unix time in whole seconds. */

export const toSeconds = (date: Date): number => Math.floor(date.getTime() / 1000);

export const secondsNow = (): number => toSeconds(new Date());
