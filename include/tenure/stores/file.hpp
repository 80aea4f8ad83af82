// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/detail/api.hpp>
#include <tenure/open_store.hpp>
#include <tenure/store.hpp>

#include <string>
#include <vector>

namespace tenure
{

/** A directory that the processes of one machine share: a store without a server (Linux).
 *
 *  Processes exclude each other if they name the same directory of the same machine, in any container that mounts it.
 *  A reboot frees all keys. A key is free within milliseconds after its holder's process has ended.
 */
struct FileConfig {
    /// absolute path; created for this user alone if it is missing and its parent exists. Empty: `/run/tenure/UID` if
    /// there is a `/run/tenure`, else `/tmp/tenure-UID`
    std::string directory = {};
    /// also use a file system that is not known to keep the rules of this store, such as NFS. Leases may then overlap
    bool any_filesystem = false;
};

/** Leases in a directory. Returns at once; the directory is opened when first needed.
 *  @throws std::invalid_argument naming field, value and rule, or saying that this build of the library is without it
 */
[[nodiscard]] TENURE_API Store
open_store(boost::asio::any_io_executor executor, FileConfig config, StoreOptions options);

/** The descriptors by which this process keeps the keys of all its stores in directories.
 *
 *  Its keys are free once no process has them open. Hand them to a helper process, by a Unix socket, if work goes on
 * after this process has died: the helper keeps them until that work has ended, or the ttl is over. Children of fork
 * get none.
 *  @par Thread safety  Safe from any thread. The numbers are valid until a store is closed. */
[[nodiscard]] TENURE_API std::vector<int> holder_descriptors();

} // namespace tenure
