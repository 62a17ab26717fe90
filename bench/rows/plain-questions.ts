/** Plain questions whose answers anybody can check; bench/README.md says how they were chosen. */

export interface PlainQuestion {
  question: string;
  /** What a right answer holds. */
  right: RegExp;
}

const ask = (question: string, right: RegExp): PlainQuestion => ({ question, right });

export const plainQuestions: readonly PlainQuestion[] = [
  ask("What is the capital of France?", /\bParis\b/),
  ask("What is the capital of Italy?", /\bRome\b/),
  ask("What is the capital of Spain?", /\bMadrid\b/),
  ask("What is the capital of Japan?", /\bTokyo\b/),
  ask("What is the capital of Russia?", /\bMoscow\b/),
  ask("What is the opposite of hot?", /\bcold\b/i),
  ask("What is the opposite of big?", /\bsmall\b|\blittle\b/i),
  ask("What is the opposite of black?", /\bwhite\b/i),
  ask("What is the opposite of up?", /\bdown\b/i),
  ask("What is 1 plus 1?", /\b(2|two)\b/i),
  ask("What colour is grass?", /\bgreen\b/i),
  ask("What color is the sky on a clear day?", /\bblue\b/i),
  ask("What color is blood?", /\bred\b/i),
  ask("How many days are in a week?", /\b(7|seven)\b/i),
  ask("How many legs does a dog have?", /\b(4|four)\b/i),
  ask("Who wrote Romeo and Juliet?", /\bShakespeare\b/),
  ask("What language is spoken in France?", /\bFrench\b/),
  ask("Which animal says meow?", /\bcat\b/i),
  ask("What do bees make?", /\bhoney\b/i),
  ask("What is the largest ocean on Earth?", /\bPacific\b/),
];
