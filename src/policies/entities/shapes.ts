/** The shapes of the entities that policies know, as RE2 patterns, with the words of their marks. Pure. */
import type { EntityName } from "../../protocol/catalogue/policy.ts"
import { isAddress, isCard, isIban, isSocialSecurityNumber, isTelephone } from "./checks.ts"

export interface Shape {
  readonly regex: string
  readonly verify?: (match: string) => boolean
  /** Whether a match that is none has no other one in it. */
  readonly isWhole?: boolean
}

/** Spaces between groups of digits: also those at which no line breaks. */
const spaces = " \\x{a0}\\x{2007}\\x{2009}\\x{202f}"
const digits = (count: number): string => `(?:[${spaces}\\x{2011}-]?[0-9]){${count}}`

const wideDigits = (text: string): string =>
  text.replace(/[0-9]/g, (digit) => String.fromCharCode(digit.charCodeAt(0) + 0xfee0))

/** The same digits in full width. No `\b` is beside them: to RE2 they are no letters of a word. */
const inFullWidth = (regex: string): string =>
  regex
    .replaceAll(spaces, "\\x{3000}")
    .replace(/\{[^}]*\}|[0-9]/g, (each) => (each.length > 1 ? each : wideDigits(each)))

/** Numbers of digits after the first of a brand's cards; the most usual one first. */
const cardBrands: ReadonlyArray<readonly [first: string, others: ReadonlyArray<number>]> = [
  ["4[0-9]{3}", [12, 15, 9]],
  ["(?:5[1-5]|2[2-7])[0-9]{2}", [12]],
  ["3[47][0-9]{2}", [11]],
  ["3(?:0[0-5]|[68][0-9])[0-9]", [10]],
  ["(?:6011|6[245][0-9]{2})", [12, 15]],
  ["35[0-9]{2}", [12]],
]

/** The length of each country's IBAN. Source: SWIFT, IBAN registry, release 98. */
const ibanLengths: Readonly<Record<number, string>> = {
  15: "NO",
  16: "BE",
  18: "DK FI FO GL NL SD",
  19: "MK SI",
  20: "AT BA EE KZ LT LU XK",
  21: "CH HR LI LV",
  22: "BG BH CR DE GB GE IE ME RS VA",
  23: "AE GI IL IQ OM SO TL",
  24: "AD CZ ES MD PK RO SA SE SK TN VG",
  25: "LY PT ST",
  26: "IS TR",
  27: "BI DJ FR GR IT MC MR SM",
  28: "AL AZ BY CY DO GT HU LB NI PL SV",
  29: "BR EG PS QA UA",
  30: "JO KW MU YE",
  31: "MT SC",
  32: "LC",
  33: "RU",
}

const group = "[0-9A-Fa-f]{1,4}"

/** Letters of one UTF-16 unit, beside those of ASCII, of scripts that write spaces between words. */
const latin = "\\x{c0}-\\x{d6}\\x{d8}-\\x{f6}\\x{f8}-\\x{24f}\\x{1e00}-\\x{1eff}"
const greek = "\\x{370}-\\x{37d}\\x{386}-\\x{3ff}\\x{1f00}-\\x{1fff}"
const eastern = "\\x{400}-\\x{481}\\x{48a}-\\x{52f}\\x{531}-\\x{556}\\x{561}-\\x{587}\\x{10a0}-\\x{10ff}"
const spaced = `A-Za-z${latin}${greek}${eastern}`
/** Hebrew, Arabic, the scripts of India, Thai, kana, Han and Hangul. */
const others =
  "\\x{5d0}-\\x{5ea}\\x{620}-\\x{64a}\\x{66e}-\\x{6d3}\\x{900}-\\x{e4e}\\x{3041}-\\x{30ff}\\x{3400}-\\x{4dbf}\\x{4e00}-\\x{9fff}\\x{ac00}-\\x{d7a3}"
const foreign = `${latin}${greek}${eastern}${others}`
const letters = `A-Za-z${foreign}`
/** Marks on letters, where they are characters by themselves. */
const marks = "\\x{300}-\\x{36f}"

/** Keys and tokens that their makers can be known by. Sources: the makers' own documentation of secret scanning. */
const secrets: ReadonlyArray<string> = [
  "\\b(?:AKIA|ASIA)[A-Z2-7]{16}\\b",
  "\\bgh[pousr]_[A-Za-z0-9]{36,255}",
  "\\bgithub_pat_[A-Za-z0-9_]{60,100}",
  "\\bglpat-[A-Za-z0-9_-]{20,200}",
  "\\bsk-[A-Za-z0-9_-]{20,250}",
  "\\b[rs]k_(?:live|test)_[A-Za-z0-9]{16,200}",
  "\\bxox[abeprs]-[A-Za-z0-9-]{10,250}",
  "\\bAIza[A-Za-z0-9_-]{35}",
  "\\bya29\\.[A-Za-z0-9_-]{20,500}",
  "\\bnpm_[A-Za-z0-9]{36}\\b",
  "\\bhf_[A-Za-z0-9]{30,60}\\b",
  "\\bSG\\.[A-Za-z0-9_-]{22}\\.[A-Za-z0-9_-]{43}",
  "\\beyJ[A-Za-z0-9_-]{8,600}\\.eyJ[A-Za-z0-9_-]{8,1000}\\.[A-Za-z0-9_-]{8,600}",
  "-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----[A-Za-z0-9+/=\\s:,\\\\]*(?:-----END [A-Z ]{0,30}PRIVATE KEY-----)?",
  "\\b[a-z][a-z0-9+]{1,20}://[^\\s:/@'\"]{1,100}:[^\\s@/'\"]{1,200}@",
  "(?i)\\b(?:aws_?)?secret_?access_?key[\"']?\\s{0,4}[:=]\\s{0,4}[\"']?[A-Za-z0-9/+]{40}",
  // The gateway's own keys and tokens.
  "\\b(?:wk|wa|wm|pat|dev|rt|scim)_[A-Za-z0-9_-]{43}",
  "(?i)\\bauthorization[\"']?\\s{0,4}[:=]\\s{0,4}[\"']?(?:bearer|basic)\\s{1,4}[A-Za-z0-9._~+/=-]{8,600}",
]

/** Each entity that policies know. */
export const shapes: Readonly<Record<EntityName, ReadonlyArray<Shape>>> = {
  /** RFC 5321 and 6531, as far as people use it. */
  email: [
    {
      regex: `[${spaced}0-9][${spaced}${marks}0-9._%+'-]{0,63}[@\\x{ff20}](?:[${letters}0-9](?:[${letters}${marks}0-9-]{0,61}[${letters}${marks}0-9])?\\.){1,5}(?:[A-Za-z]{2,24}\\b|[A-Za-z]{0,11}[${foreign}][${letters}${marks}]{0,12})`,
    },
  ],
  phone: [
    { regex: "\\+[1-9](?:[ .()/-]{0,2}[0-9]){6,14}\\b", verify: isTelephone },
    { regex: "(?:\\(|\\b)[2-9][0-9]{2}\\)?[ .-][2-9][0-9]{2}[ .-][0-9]{4}\\b" },
    { regex: "\\b0?0[1-9][0-9]{0,3}[ /-][0-9]{2,5}(?:[ /-]?[0-9]{2,5}){1,3}\\b", verify: isTelephone },
  ],
  card: cardBrands.flatMap(([first, others]) => {
    const regex = `${first}(?:${others.map(digits).join("|")})`
    return [
      { regex: `\\b${regex}\\b`, verify: isCard },
      { regex: inFullWidth(regex), verify: isCard },
    ]
  }),
  iban: Object.entries(ibanLengths).map(([length, countries]) => ({
    regex: `\\b(?:${countries.replaceAll(" ", "|")})[0-9]{2}(?:[${spaces}]?[A-Za-z0-9]){${Number(length) - 4}}\\b`,
    verify: isIban,
  })),
  ip: [
    // Five numbers are no address, and have none in them.
    { regex: "\\b[0-9]{1,3}(?:\\.[0-9]{1,3}){3,15}\\b", verify: isAddress, isWhole: true },
    { regex: `(?:\\b${group}:|:)(?::?${group}:?){1,8}`, verify: isAddress },
  ],
  /** A social security number of the United States. */
  ssn: [{ regex: "\\b[0-9]{3}-[0-9]{2}-[0-9]{4}\\b", verify: isSocialSecurityNumber }],
  secret: secrets.map((regex) => ({ regex })),
}
