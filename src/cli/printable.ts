/** Text from elsewhere, safe to show on a terminal: a model or a server may write what moves the cursor or worse. */
export const printable = (text: string): string => text.replace(/[^\P{Cc}\n\t]/gu, "\uFFFD");
