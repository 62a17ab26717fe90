import { describe, expect, test } from "bun:test";
import { runPaddock, testsExecutable } from "../support/paddock-process.ts";
import { noExecutable, skipUnless } from "../support/skip-reason.ts";
import { tempDir } from "../support/temp-dir.ts";

const printed = new Map<string, Promise<string>>();

/** What the command prints; it is run once. */
function licenses(...args: string[]): Promise<string> {
  const known = printed.get(args.join(" ")) ?? print(args);
  printed.set(args.join(" "), known);
  return known;
}

async function print(args: readonly string[]): Promise<string> {
  await using folder = await tempDir();
  const { code, stdout, stderr } = await runPaddock(["licenses", ...args], { cwd: folder.path });
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  return stdout;
}

/** The full notices by the name that each begins with. */
function parted(text: string): Map<string, string> {
  const parts = text.split(/^={80}\n(.+) \S+\nLicence: .+\n={80}\n/m).slice(1);
  return new Map(
    Array.from({ length: parts.length / 2 }, (_, at) => [
      parts[at * 2] ?? "",
      parts[at * 2 + 1] ?? "",
    ]),
  );
}

describe("paddock licenses", () => {
  test("prints the whole licence of what the program is made of", async () => {
    const notices = parted(await licenses());
    const granted = "Permission is hereby granted, free of charge";
    const apache = "TERMS AND CONDITIONS FOR USE, REPRODUCTION, AND DISTRIBUTION";
    const said = {
      "node-llama-cpp": granted,
      elysia: granted,
      // Of the page for people.
      preact: granted,
      "swagger-ui-dist": apache,
      usearch: apache,
      // What comes in packages of others, or in none.
      numkong: apache,
      "PDF.js (in unpdf)": apache,
      "llama.cpp": "Copyright (c) 2023-2026 The ggml authors",
      Bun: "JavaScriptCore (and WebKit), which is LGPL-2 licensed",
    };
    for (const [name, text] of Object.entries(said)) {
      expect({ name, text: notices.get(name) ?? "" }).toEqual({
        name,
        text: expect.stringContaining(text),
      });
    }
    // What a bundle holds of others is in a file beside it.
    expect(notices.get("swagger-ui-dist")).toContain("react");
  });

  test("says of a package without a licence file that it has none", async () => {
    expect(
      parted(await licenses())
        .get("isarray")
        ?.trim(),
    ).toBe("The package has no licence file. This is the licence that it declares.");
  });

  test("prints one line for each with --summary", async () => {
    const [heading, ...lines] = (await licenses("--summary")).trimEnd().split("\n");
    expect(heading?.split(/\s+/)).toEqual(["NAME", "VERSION", "LICENSE"]);
    expect(lines.length).toBeGreaterThan(100);
    expect(lines.filter((line) => line.includes("none declared"))).toEqual([]);
    expect(lines.map((line) => line.replace(/\s+/g, " "))).toEqual(
      expect.arrayContaining(["elysia 1.4.30 MIT", "swagger-ui-dist 5.34.1 Apache-2.0"]),
    );
  });

  test("names no tool that only develops the program", async () => {
    const summary = await licenses("--summary");
    for (const name of ["typescript", "@biomejs/biome", "playwright-core", "bun-types"]) {
      expect(summary).not.toContain(`\n${name} `);
    }
  });

  test.skipIf(skipUnless(testsExecutable, noExecutable))(
    "names the libraries of the executable's platform alone",
    async () => {
      const libraries = (await licenses("--summary")).match(/^@node-llama-cpp\/\S+/gm);
      expect(libraries).toHaveLength(1);
    },
  );
});
