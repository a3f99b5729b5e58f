type Value = string | number | boolean | null;

/** One record as a line of CSV (RFC 4180). Text that a spreadsheet would take for a formula is made plain text. */
export function csvLine(values: readonly Value[]): string {
  return values.map(cell).join(',');
}

function cell(value: Value): string {
  if (value === null) return '';
  if (typeof value !== 'string') return String(value);
  const plain = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain;
}
