/// JSON documents of the API: keys in the order they were added.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "strop/strop.h"

namespace strop::api {

using Json = nlohmann::ordered_json;

/// Names in models need not be UTF-8: what is not valid is replaced.
inline std::string to_text(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

Json ports_json(const std::vector<PortInfo>& ports);

}  // namespace strop::api
