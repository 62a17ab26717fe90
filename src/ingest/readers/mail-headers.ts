/** Whether a text is an e-mail: it begins with header lines, and some that only e-mails have. */

const usual =
  /^(?:from|to|subject|date|message-id|mime-version|received|return-path|delivered-to|reply-to)$/i;
/** So many usual ones tell an e-mail from a text with a colon in its first lines. */
const enough = 2;

const header = /^([!-9;-~]{1,76})[ \t]*:/;

/** `text` is the beginning of a file, read as Latin-1. */
export function isMail(text: string): boolean {
  const lines = withoutMailbox(text).split(/\r?\n/);
  let found = 0;
  for (const line of lines) {
    if (/^[ \t]+\S/.test(line)) continue;
    const name = header.exec(line)?.[1];
    if (name === undefined) break;
    if (usual.test(name)) found += 1;
  }
  return found >= enough;
}

/** Whether a text begins as an e-mail does, be it one that somebody sent or only a part of one. */
export const beginsWithHeader = (text: string): boolean => header.test(withoutMailbox(text));

/** Mailboxes begin a message with a line of their own. */
const withoutMailbox = (text: string): string =>
  text.replace(/^\s+/, "").replace(/^From [^\n]*\n/, "");
