"""Word lists that names of services, hosts, paths and the long tail of messages are drawn from.

None tells what a service does: a name drawn from here can be given to any service.
"""

_FIRST = """
acorn agate alder alpaca amber anchor anvil apricot arbor aspen aster auburn badger bamboo barley basil beacon beaver
birch bison bramble breeze briar brook buckeye butter cactus camel candle canyon caper cedar chalk cherry chestnut
cider cinder citrus clover cobalt condor copper coral cotton cougar crane creek cricket crimson crystal currant cypress
daisy dapple delta dingo dove drift dune eagle ebony elder elm ember ermine falcon fennel fern ferret finch fjord flax
flint fox gannet garnet gecko ginger glacier granite grape grove gull hazel heath heron hickory holly honey ibis indigo
iris ivory ivy jackal jade jasper juniper kelp kestrel kiwi lagoon larch lark laurel lemon lichen lilac linden lion
llama lotus lupine lynx magpie maple marble marlin marsh meadow mesa mica mink mint moose moss mulberry myrtle nectar
nettle newt nutmeg oak oasis ocelot olive onyx opal orchid osprey otter oyster palm panda pansy pearl pebble pecan
pelican pepper petrel pine plover plum pollen poplar poppy prairie puffin quail quartz quince rabbit raven reed ridge
river robin rook rowan ruby rush saffron sage salmon sequoia shale shrike sierra slate sorrel sparrow spruce starling
stork sumac swan sycamore teal thistle thorn thyme toucan trout tulip tundra umber valley violet walnut warbler willow
wren yarrow yew zinnia
"""
_SECOND = """
arch array barn base bay bell bench board bridge cabin canal cart chart cliff clock coast cove crest dale deck depot
dock edge field flow forge frame gable gate glade gorge grid harbor haven helm hill hollow inlet isle keel kiln knoll
lane ledge ledger level lodge loft loom march mast mead mill mine moor mount nest notch orchard pass path peak pier
plain plaza point pond port press quay rack ramp range reach reef rill road rock roost shed shelf shore slope span
spire spring stage stand stone strand stream terrace tower trace track trail vale vault view ward watch well wharf wing
works yard
"""
_VERBS = """
accepted adjusted allocated appended applied archived assembled assigned attached balanced batched bound cached
calculated checked cleaned closed collected combined committed compacted compared compiled computed copied counted
created decoded dequeued derived detached discarded dispatched drained emitted encoded enqueued evaluated evicted
expanded exported fetched filtered finished flushed folded forwarded gathered handled hashed imported indexed
initialised inserted joined kept linked listed loaded located mapped marked matched measured merged migrated moved
notified opened ordered packed paged parsed paused persisted picked planned polled prefetched prepared processed
projected pruned published purged queued ranked read rebuilt received recorded recycled reduced refreshed registered
released reloaded removed renamed rendered replayed reported reserved resized resolved restored resumed routed sampled
saved scanned scheduled sealed selected sent serialised shipped signed skipped sorted split stamped started stored
streamed submitted summarised swapped synced tagged tested traced tracked transferred transformed trimmed updated
validated verified visited walked warmed wrote
"""
FIRST, SECOND, VERBS = tuple(_FIRST.split()), tuple(_SECOND.split()), tuple(_VERBS.split())
OWNERS = ("lena", "marco", "priya", "jonas", "aiko", "tomas", "nadia", "felix", "ines", "oscar", "ruth", "samir",
          "wanda", "yusuf", "clara", "dmitri", "elif", "hugo", "kofi", "mei")
