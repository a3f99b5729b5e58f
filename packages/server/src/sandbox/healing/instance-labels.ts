const installationLabel = 'caisson.installation';
const roomLabel = 'caisson.room';

/** What every instance carries. */
export function installationLabels(installation: string): Record<string, string> {
  return { [installationLabel]: installation };
}

/** The same for one that never has a record: it belongs to a build or a transfer, and is nothing without it. */
export function roomLabels(installation: string): Record<string, string> {
  return { ...installationLabels(installation), [roomLabel]: 'true' };
}

export function isRoom(labels: Readonly<Record<string, string>>): boolean {
  return labels[roomLabel] === 'true';
}

/** It says that it belongs to another installation: nothing of it is our business. */
export function isStranger(labels: Readonly<Record<string, string>>, installation: string): boolean {
  const of = labels[installationLabel];
  return of !== undefined && of !== installation;
}
