/** A thread that cannot start, because a file is missing. */
throw new Error('No such file: history.db');
