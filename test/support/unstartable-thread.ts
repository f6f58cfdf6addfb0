/** A thread that cannot start: what it needs is not there. */
throw new Error('No such file: history.db');
