"""Campaigns: solvers x environments x seeds under a budget, resumable, ending in a leaderboard.

A campaign is a file. `file` reads it, `plan` makes its samples and its id, `driver` runs what is missing as Ray tasks,
`worker` is the body of such a task, `journal` reads from the store what is known so far, `statistics` turns scores into
intervals, `content` puts them into a leaderboard, `output` writes it, `compare` holds two against each other and
`inspect_log` exports one. `driver.run_campaign` is the whole life of a campaign.
"""
