/** How short the tail of unlikely tokens is where neither the request nor the configuration says so. */

/** As llama-server has it. */
export const defaultMinP = 0.05;

/** The starter chat model has weights of 2 bits, whose tail is mostly nonsense; measured, see bench/README.md. */
export const starterMinP = 0.6;
