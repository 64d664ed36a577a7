"""The whole system in one process: real rules and real calls, and a small model of all between.

What a service keeps in its database, what a broker keeps on its topics, what a crash destroys and
what it leaves: each is a few lines here, so that thousands of histories can be played in seconds.
"""
