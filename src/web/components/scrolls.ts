/** For an element that scrolls by itself: it must take the focus, or the keyboard cannot scroll it. */
export const scrolls = { tabIndex: 0 } as const;
