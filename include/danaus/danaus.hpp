// All that an embedding program needs.
#pragma once

#include "danaus/batch.hpp"
#include "danaus/buffer.hpp"
#include "danaus/client.hpp"
#include "danaus/config.hpp"
#include "danaus/error.hpp"
#include "danaus/failure.hpp"
#include "danaus/queue_pair.hpp"
#include "danaus/worker.hpp"
