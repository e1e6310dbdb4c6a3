/** Checks that distinguish an entity from other text of its shape. Pure. */
import { isIP } from "node:net"

/** Digits of any width. */
const digitsOf = (text: string): string => text.normalize("NFKC").replace(/\D/g, "")

/** The last digit of a card's number. Source: ISO/IEC 7812-1, annex B (Luhn). */
export const isCard = (text: string): boolean => {
  const digits = digitsOf(text)
  const sum = [...digits].reverse().reduce((total, digit, at) => {
    const value = Number(digit) * (at % 2 === 0 ? 1 : 2)
    return total + (value > 9 ? value - 9 : value)
  }, 0)
  return sum % 10 === 0 && !/^(\d)\1*$/.test(digits)
}

/** The remainder of an IBAN by 97. Source: ISO 13616-1, 6. */
export const isIban = (text: string): boolean => {
  const packed = text.replace(/\s/g, "").toUpperCase()
  const moved = packed.slice(4) + packed.slice(0, 4)
  let rest = 0
  for (const character of moved) {
    for (const digit of Number.parseInt(character, 36).toString()) rest = (rest * 10 + Number(digit)) % 97
  }
  return rest === 1
}

export const isAddress = (text: string): boolean => isIP(text) !== 0

/** Source: https://www.ssa.gov/employer/randomization.html */
export const isSocialSecurityNumber = (text: string): boolean => {
  const [area = "", group = "", serial = ""] = text.split(/[- ]/)
  return area !== "000" && area !== "666" && area < "900" && group !== "00" && serial !== "0000"
}

/** Seven digits at least, and at most fifteen. Source: ITU-T E.164. */
export const isTelephone = (text: string): boolean => {
  const { length } = digitsOf(text)
  return length >= 7 && length <= 15
}
