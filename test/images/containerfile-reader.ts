/**
 * Reads a Containerfile as BuildKit does, so far as ours use it: comments, continued lines, JSON forms, quoted values
 * with escapes and variables, here-documents. What ours must never contain is an error.
 */
export interface Instruction {
  readonly name: string;
  readonly flags: readonly string[];
  /** The words of a JSON form, or the key and value of LABEL and ENV, or the rest as it is. */
  readonly words: readonly string[];
}

const lineLimit = 65_535;

export function readContainerfile(text: string): Instruction[] {
  return text.split('\n').flatMap((line) => {
    if (Buffer.byteLength(line) > lineLimit) throw new Error('a line is longer than the parser takes');
    if (line.trim() === '') return [];
    if (line.startsWith('#')) {
      if (/^#\s*[A-Za-z]+\s*=/.test(line)) throw new Error('a comment is a directive');
      return [];
    }
    if (/\\\s*$/.test(line)) throw new Error('a line is continued');
    const [, name = '', rest = ''] = /^([A-Z]+) (.*)$/.exec(line) ?? [];
    if (name === '') throw new Error(`not an instruction: ${line}`);
    return [readInstruction(name, rest)];
  });
}

function readInstruction(name: string, given: string): Instruction {
  const flags: string[] = [];
  let rest = given;
  for (let flag = /^(--\S+) (.*)$/.exec(rest); flag; flag = /^(--\S+) (.*)$/.exec(rest)) {
    flags.push(flag[1] ?? '');
    rest = flag[2] ?? '';
  }
  if (rest.startsWith('[')) {
    const words = JSON.parse(rest) as string[];
    // RUN takes its words as they are; paths are read once more.
    return { name, flags, words: name === 'RUN' ? words : words.map(readWord) };
  }
  if (name === 'LABEL' || name === 'ENV') return { name, flags, words: readPair(rest) };
  if (/<<|["'$]/.test(rest)) throw new Error(`${name} has something to be read: ${rest}`);
  return { name, flags, words: [rest] };
}

function readPair(text: string): string[] {
  const [, key = '', value = ''] = /^((?:"(?:[^"\\]|\\.)*"|[^"=\s])+)=("(?:[^"\\]|\\.)*")$/.exec(text) ?? [];
  if (key === '') throw new Error(`not one pair: ${text}`);
  return [readWord(key), readWord(value)];
}

/** One word: quotes are taken off, a backslash takes what follows as it is, and a variable is what must not be. */
function readWord(text: string): string {
  let word = '';
  let quoted = false;
  for (let at = 0; at < text.length; at += 1) {
    const char = text[at] ?? '';
    if (char === '\\') {
      at += 1;
      const next = text[at] ?? '';
      // Between double quotes a backslash before anything else stays.
      word += quoted && !'\\"$'.includes(next) ? char + next : next;
    } else if (char === '"') quoted = !quoted;
    else if (char === '$') throw new Error(`a variable is read in ${text}`);
    else if (char === "'" && !quoted) throw new Error(`a quote is read in ${text}`);
    else word += char;
  }
  if (quoted) throw new Error(`a quote is not closed in ${text}`);
  return word;
}
