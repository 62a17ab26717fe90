/** How long a duration of the configuration may be. */

/** 24 days: a timer counts milliseconds in 31 bits, and one of 25 days fires at once. */
export const longestSeconds = 24 * 24 * 60 * 60;
