import { type FSWatcher, watch } from 'node:fs';

/**
 * Waits for the next change in a folder, and no longer than `ms`: notification is best effort (network filesystems, a
 * machine out of watches), so whoever waits looks again anyway.
 */
export function folderChange(folder: string, ms: number): Promise<void> {
  return new Promise((resolve) => {
    let watcher: FSWatcher | undefined;
    const end = () => {
      clearTimeout(timer);
      watcher?.close();
      resolve();
    };
    const timer = setTimeout(end, ms);
    try {
      watcher = watch(folder, end);
      watcher.on('error', () => {});
    } catch {
      // The timer looks again.
    }
  });
}
