import { expect, test } from "bun:test";
import {
  type Conversation,
  exportFormats,
  fileNameOf,
} from "../../../../src/web/chat/conversation.ts";

const conversation: Conversation = {
  id: "1",
  title: "Do llamas hum?",
  createdAt: "2026-11-15T10:00:00.000Z",
  settings: { model: "chatty", system: "Be brief.\nBe kind.", grounded: "on" },
  turns: [
    { id: "2", role: "user", content: "Do llamas hum?" },
    {
      id: "3",
      role: "assistant",
      content: "They do [1].",
      model: "chatty",
      state: "done",
      retrieval: {
        points: [
          {
            source: "Llamas hum.",
            score: 0.756,
            metadata: { id: "a", document: "animals.md", heading: "Llamas", position: 0 },
          },
          { source: "Roses bloom.", score: 0.5 },
        ],
        dropped: 0,
      },
    },
  ],
};

test("as Markdown, a conversation reads as it was held, with the sources of its answers", () => {
  expect(exportFormats.Markdown.toText(conversation)).toBe(`# Do llamas hum?

chatty, 2026-11-15T10:00:00.000Z

> Be brief.
> Be kind.

## You

Do llamas hum?

## chatty

They do [1].

Sources:

1. animals.md, Llamas (0.76)
2. A passage (0.50)
`);
});

test("as JSON, a conversation loses nothing", () => {
  expect(JSON.parse(exportFormats.JSON.toText(conversation))).toEqual(conversation);
});

test.each([
  ["Do llamas hum?", "do-llamas-hum.md"],
  ["Où sont les lamas ?", "où-sont-les-lamas.md"],
  ["../../etc/passwd", "etc-passwd.md"],
  ["???", "conversation.md"],
])("the file of '%s' is %s", (title, name) => {
  expect(fileNameOf({ ...conversation, title }, "md")).toBe(name);
});
