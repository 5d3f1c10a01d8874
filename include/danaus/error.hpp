// danaus::Error and danaus::ErrorCode for programs that embed Danaus.
#pragma once

#include "messages/error.hpp"
