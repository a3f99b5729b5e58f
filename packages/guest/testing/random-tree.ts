import fc from 'fast-check';

/** Few names, so that operations meet: also those that mean something to an archive or a shell. */
const names = ['a', 'b', 'c', 'd e', '.wh.a', 'n%=x', 'é'];
const name = fc.constantFrom(...names);
const path = fc.array(name, { minLength: 1, maxLength: 3 }).map((parts) => parts.join('/'));
const quoted = path.map((text) => `'${text}'`);
const content = fc.constantFrom('one', 'two', 'six', 'a longer text');

const step = fc.oneof(
  { weight: 4, arbitrary: quoted.map((at) => `mkdir -p ${at}`) },
  // A pipe would wait for its reader.
  { weight: 5, arbitrary: fc.tuple(quoted, content).map(([at, text]) => `[ ! -p ${at} ] && echo '${text}' > ${at}`) },
  { weight: 3, arbitrary: quoted.map((at) => `rm -rf ${at}`) },
  { weight: 1, arbitrary: fc.tuple(quoted, quoted).map(([to, at]) => `ln -sfn ${to} ${at}`) },
  { weight: 2, arbitrary: fc.tuple(quoted, quoted).map(([from, at]) => `ln ${from} ${at}`) },
  { weight: 2, arbitrary: fc.tuple(quoted, quoted).map(([from, at]) => `mv -T ${from} ${at}`) },
  { weight: 1, arbitrary: quoted.map((at) => `mkfifo ${at}`) },
  { weight: 1, arbitrary: quoted.map((at) => `test ! -h ${at} && chmod 4711 ${at}`) },
  { weight: 1, arbitrary: quoted.map((at) => `chown -h 1000:70000 ${at}`) },
  { weight: 1, arbitrary: quoted.map((at) => `setfattr -h -n user.n=%te -v '\\303' ${at}`) },
  { weight: 1, arbitrary: quoted.map((at) => `touch -h -d @1600000000.123456789 ${at}`) },
  { weight: 1, arbitrary: quoted.map((at) => `truncate -s 100000 ${at}`) },
  // A folder that is made anew hides what was below it.
  { weight: 2, arbitrary: quoted.map((at) => `rm -rf ${at} && mkdir ${at}`) },
);

/** What somebody does in a folder, for a shell; steps that do not fit what is there do nothing. */
export function arbitrarySteps(maxLength: number): fc.Arbitrary<string> {
  const all = fc.array(step, { minLength: 1, maxLength });
  return all.map((steps) => steps.map((text) => `{ ${text}; } 2>/dev/null || true`).join('\n'));
}

/** Everything about the folder that is there, one line for each node in order: what two equal trees have in common. */
export const describeTree = `
describe() (
  cd "$1" && find . -mindepth 1 -printf '%P\\0' | sort -z | while IFS= read -r -d '' at; do
    if [ -c "$at" ]; then printf '%s|removed\\n' "$at"; continue; fi
    # What a folder counts as its links is its filesystem's own matter.
    links=%h; if [ -d "$at" ] && [ ! -h "$at" ]; then links=-; fi
    printf '%s|%s|' "$at" "$(stat -c "%F %a %u %g $links" -- "$at")"
    if [ -h "$at" ]; then printf '> %s' "$(readlink -- "$at")"
    elif [ -f "$at" ]; then sha256sum < "$at" | tr -d '\\n -'
    fi
    [ -d "$at" ] && [ ! -h "$at" ] || printf '|%s' "$(stat -c '%y' -- "$at")"
    printf '|'
    [ -h "$at" ] || getfattr --absolute-names -d -e hex -m '^(user|security.capability|system.posix_acl|trusted.overlay.opaque)' -- "$at" 2>/dev/null | grep -v '^#' | tr '\\n' '|'
    printf '\\n'
  done
)`;
