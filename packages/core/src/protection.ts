import { ServiceError } from './errors.ts';

/** Throws `conflict` for something that must not be deleted. `noun` says what it is. */
export function requireUnprotected({ protected: isProtected }: { protected: boolean }, noun: string): void {
  if (!isProtected) return;
  throw new ServiceError(
    'conflict',
    `This ${noun} is protected: set "protected" to false before you delete it.`,
  );
}
