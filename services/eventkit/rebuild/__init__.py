"""Shadow rebuild: a read model is built anew beside the live one, compared, and swapped in.

A *generation* is one set of a read model's tables. The current one is in the schema ``public``,
where everybody reads and writes it by plain names; every other one has a schema of its own. A swap
moves tables between schemas in one transaction, so that nobody else has to know of generations.
"""
