/** SCIM's filters, by tables. */
import { Result } from "effect"
import { describe, expect, it } from "vitest"
import { narrowing, parseFilter, parsePath } from "../../../../src/protocol/scim/filter.ts"
import { matches } from "../../../../src/protocol/scim/match.ts"
import { groupKind, userKind } from "../../../../src/protocol/scim/schema.ts"

const enterprise = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User"
const ann = {
  id: "mem_1",
  externalId: "Ext-1",
  userName: "Ann@Example.com",
  name: { givenName: "Ann", familyName: 'O"Hara' },
  title: "",
  active: true,
  emails: [
    { value: "ann@work.example", type: "work", primary: true },
    { value: "ann@home.example", type: "home" },
  ],
  [enterprise]: { department: "Research", manager: { value: "M1" } },
  meta: { created: "2026-01-01T00:00:00.000Z", lastModified: "2026-02-01T00:00:00Z" },
}

const holds = (text: string) => matches(Result.getOrThrow(parseFilter(userKind, text)), ann)

describe("a filter", () => {
  it.each([
    ['userName eq "ann@example.com"', true],
    ['USERNAME EQ "ANN@EXAMPLE.COM"', true],
    ['userName ne "ann@example.com"', false],
    ['userName co "@EX"', true],
    ['userName sw "ann"', true],
    ['userName ew ".org"', false],
    // Only ids are compared with their case.
    ['externalId eq "Ext-1"', true],
    ['externalId eq "ext-1"', false],
    ["externalId eq Ext-1", true],
    ['id eq "MEM_1"', false],
    ["displayName pr", false],
    ["title pr", false],
    ["name pr", true],
    ["emails pr", true],
    ['name.familyName eq "o\\"hara"', true],
    ['urn:ietf:params:scim:schemas:core:2.0:User:userName sw "ann"', true],
    [`${enterprise}:department eq "research"`, true],
    [`${enterprise}:manager eq "M1"`, true],
    [`${enterprise}:manager.value eq "m1"`, false],
    ["active eq true", true],
    ['active eq "True"', true],
    ["active ne true", false],
    ["displayName eq null", true],
    ["userName eq null", false],
    ["userName ne null", true],
    ['emails eq "ann@work.example"', true],
    ['emails.type eq "home"', true],
    ['emails[type eq "work" and value ew "home.example"]', false],
    ['emails[type eq "home" and value ew "home.example"]', true],
    ['emails[type eq "work"].value eq "ann@work.example"', true],
    ['emails[type eq "work"].value eq "ann@home.example"', false],
    ['emails[not (type eq "work") and value pr]', true],
    ['meta.lastModified gt "2026-01-31T23:00:00-01:00"', false],
    ['meta.lastModified ge "2026-02-01T00:00:00+00:00"', true],
    ['meta.created lt "2026-01-01T00:00:01Z"', true],
    ['userName eq "x" or active eq true and name.givenName eq "ann"', true],
    ['(userName eq "x" or active eq true) and name.givenName eq "bob"', false],
    ['not (userName eq "x")', true],
    ['not(userName eq "ann@example.com") or title pr', false],
    // An attribute that the schemas do not have has no value.
    ['shoeSize eq "42"', false],
    ['shoeSize ne "42"', true],
    ["shoeSize pr", false],
  ])("%s: %s", (text, expected) => {
    expect(holds(text)).toBe(expected)
  })

  it.each([
    "",
    "userName",
    "userName eq",
    'userName is "x"',
    'userName eq "x" and',
    'userName eq "x" "y"',
    '(userName eq "x"',
    'userName eq "x")',
    "emails[type pr",
    "emails[]",
    'userName[value eq "x"]',
    'userName eq "x',
    'userName eq "\\x"',
    "active gt true",
    "userName gt null",
    `${"(".repeat(21)}userName pr${")".repeat(21)}`,
    `userName eq "${"a".repeat(2000)}"`,
  ])("that cannot be read is refused: %s", (text) => {
    const read = parseFilter(userKind, text)
    expect(Result.isFailure(read) && read.failure.scimType).toBe("invalidFilter")
  })

  it("may have as many conditions as fit", () => {
    const text = Array.from({ length: 120 }, () => "userName pr").join(" or ")
    expect(holds(text)).toBe(true)
  })

  it.each([
    ['userName eq "Ann"', "Ann"],
    ['active eq true and userName eq "Ann"', "Ann"],
    ['userName eq "Ann" or active eq true', undefined],
    ['not (userName eq "Ann")', undefined],
    ['userName sw "Ann"', undefined],
  ])("narrows a list in the store: %s", (text, expected) => {
    expect(narrowing(Result.getOrThrow(parseFilter(userKind, text)), "userName")).toBe(expected)
  })
})

describe("a path", () => {
  it.each(["userName.x", "shoeSize", "emails[", "emails[type]", "emails[type pr]value", "userName[a pr]", "a.b.c"])(
    "that the schemas do not have is refused: %s",
    (text) => {
      expect(Result.isFailure(parsePath(userKind, text))).toBe(true)
    },
  )

  it("selects members", () => {
    const path = Result.getOrThrow(parsePath(groupKind, 'members[value eq "u1"]'))
    expect(path.attribute?.name).toBe("members")
    expect(path.filter).toMatchObject({ op: "eq", value: "u1" })
  })
})
