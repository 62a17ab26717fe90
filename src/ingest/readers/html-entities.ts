/** Characters that HTML writes by name or number. */

export const decodeEntities = (text: string): string =>
  text.replace(
    /&(?:#\d{1,7}|#x[\da-f]{1,6}|[a-z][a-z\d]*);|&(?:amp|lt|gt|quot|nbsp|copy|reg)\b/gi,
    (entity) => {
      const code = /^&#(1[2-5]\d);$/.exec(entity)?.[1];
      // 128 to 159 are control characters in Unicode; browsers read them as windows-1252, and so do we.
      if (code !== undefined && Number(code) >= 128)
        return windows.decode(Uint8Array.of(Number(code)));
      return Bun.markdown.render(entity.endsWith(";") ? entity : `${entity};`);
    },
  );

const windows = new TextDecoder("windows-1252");
