/** The words of comments, messages, descriptions and pages. */
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { describe, expect, it } from "vitest"
import { proseOfPage, proseOfProgram } from "./prose.ts"
import { findingsIn, openings, words } from "./words.ts"

const root = fileURLToPath(new URL("../..", import.meta.url))
const folders = ["src", "test", "scripts", "examples", "deploy", "docs", "migrations"]
/** The files of the rules, which quote what they forbid. */
const quoting = new Set(["test/architecture/words.ts", "test/architecture/words.test.ts"])

const files = [
  "README.md",
  "CHANGELOG.md",
  "CONTRIBUTING.md",
  ...folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: "utf8" }).map((file) => `${folder}/${file}`),
  ),
].filter((file) => !file.includes("node_modules/") && !quoting.has(file))

/** The findings in a file, as they are printed. */
const linesOf = (file: string): ReadonlyArray<string> => {
  const text = readFileSync(join(root, file), "utf8")
  const prose = file.endsWith(".md")
    ? proseOfPage(text)
    : proseOfProgram(text, { strings: file.startsWith("src/") && !file.startsWith("src/testing/") })
  return prose.flatMap(findingsIn).map(({ line, sentence, instead }) => `${file}:${line}: "${sentence}" → ${instead}`)
}

describe("the prose of the project", () => {
  it("has no word and no opening that is not used", () => {
    const found = files.filter((file) => /\.(ts|md)$/.test(file)).flatMap(linesOf)
    expect(found).toEqual([])
  })
})

describe("the rules of prose", () => {
  const program = (code: string) => proseOfProgram(code, { strings: true }).flatMap(findingsIn)

  const bad = [
    ["/** Of a node that dies. */", "Of a node that dies."],
    ["/** Those that are open. */", "Those that are open."],
    ["/** Told once. */", "Told once."],
    ["/** Whose it is. */", "Whose it is."],
    ["/** For whom it is counted. */", "For whom it is counted."],
    ["/** As the vendor has it. */", "As the vendor has it."],
    ["/** By key. */", "By key."],
    ["/** With nothing. */", "With nothing."],
    ["/** What is sent. */", "What is sent."],
    ["/** In which file it is. */", "In which file it is."],
    ["/** Where it is sent. */", "Where it is sent."],
    ["/** How many there are. */", "How many there are."],
    ["/** How long it waits. */", "How long it waits."],
    ["/** Why it ended. */", "Why it ended."],
    ["/**\n * Rows.\n * The caller is told\n * of them. Then it ends.\n */", "The caller is told of them."],
    ["// A row that stands\n// is read.", "A row that stands is read."],
    ["// What follows is not read: the socket is closed.", "What follows is not read: the socket is closed."],
    ["// Those of other sources.", "Those of other sources."],
    ["const message = `Whoever asks`", "Whoever asks"],
    ['annotations({ description: "Of billed calls." })', "Of billed calls."],
    ['withText(Command.withDescription("What is sent"))', "What is sent"],
    ["/** A connection that is nobody's. */", "A connection that is nobody's."],
    ["/** A lot of rows. The lot is sent. */", "The lot is sent."],
    ["/** A node comes by its money. */", "A node comes by its money."],
    ["/** The target rests. */", "The target rests."],
    ["/** The money at hand. */", "The money at hand."],
    ["/** The API has no words for it. */", "The API has no words for it."],
    ["/** The operator learns what became of it. */", "The operator learns what became of it."],
    ["/** It begins anew. */", "It begins anew."],
    ["/** It waits as long again. */", "It waits as long again."],
    ["/** A target that fails is passed over. */", "A target that fails is passed over."],
    ["/** The request in OpenAI's words. */", "The request in OpenAI's words."],
    ["/** The text as it came. */", "The text as it came."],
    ["// It ends whatever fails.", "It ends whatever fails."],
    ["/** The money goes back by itself. */", "The money goes back by itself."],
    ["/** The cache forgets it. */", "The cache forgets it."],
    ["/** It is asked all the same. */", "It is asked all the same."],
    ["/** A body. What is read is kept. */", "What is read is kept."],
    ['/** A session. Source: interface.md "Session". */', 'Source: interface.md "Session".'],
    ['/** A session. Source: sockets "Three sockets". */', 'Source: sockets "Three sockets".'],
  ] as const

  it.each(bad)("find: %s", (code, sentence) => {
    expect(program(code).map((found) => found.sentence)).toContain(sentence)
  })

  const good = [
    "/** The organisation that is billed. */",
    "/** Closes the socket. */",
    "/** A field that was `told` by {@link tells}. */",
    "/** Whether the call is billed. */",
    "/** Writes events. @param tell writes one of them */",
    'const message = "What is it?"',
    'const names = ["tells", "rests"]',
    "/** The session of a realtime call. Source: RFC 6455, section 5.2. */",
  ]

  it.each(good)("accept: %s", (code) => {
    expect(program(code)).toEqual([])
  })

  it("read pages by paragraph, without their code", () => {
    const page = "# Calls\n\nA reply is\ntold here.\n\n```\nit is told\n```\n\n- `told`\n- Whoever asks.\n"
    expect(proseOfPage(page).flatMap(findingsIn)).toMatchObject([
      { line: 3, sentence: "A reply is told here." },
      { line: 11, sentence: "- Whoever asks." },
    ])
  })

  it("are each broken by one of the bad examples", () => {
    const broken = new Set(bad.flatMap(([code]) => program(code).map(({ instead }) => instead)))
    expect([...openings, ...words].filter(({ instead }) => !broken.has(instead))).toEqual([])
  })

  it("name the first line of a comment and of a text", () => {
    expect(program("\n\n/** Told once. */\nconst a = 1\nconst b = `Whoever asks`\n").map(({ line }) => line)).toEqual([
      3, 3, 5,
    ])
  })
})
