/// Zip archives, read as a whole: what an .npz file is.
#pragma once

#include <map>
#include <string>

#include "base/result.h"

namespace strop::api {

/// Every entry's contents by name, checksums compared. Errors name the file: damaged, encrypted, an entry twice, or
/// more than 64 GiB in all.
Result<std::map<std::string, std::string>> read_zip(const std::string& path);

}  // namespace strop::api
