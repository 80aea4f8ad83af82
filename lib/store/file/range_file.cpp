// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// RangeFile: reading and writing of records; making of files.
#include "range_file.hpp"

#include <tenure/errc.hpp>

#include <algorithm>
#include <cerrno>
#include <cstddef>

#include <fcntl.h>
#include <unistd.h>

namespace tenure::file
{

namespace
{

constexpr std::size_t most_open_ranges = 256;

} // namespace

RangeFile::RangeFile(Descriptor file, std::string stem)
    : file_(std::move(file))
    , stem_(std::move(stem))
    , inode_(file_.status().st_ino)
{
}

bool RangeFile::read(std::uint32_t slot, std::uint32_t count, std::vector<RecordPair>& to) const
{
    to.resize(count);
    return file_.read_at(records(slot, 1).begin, to.data(), count * sizeof(RecordPair));
}

bool RangeFile::write(std::uint32_t slot, RecordPair const& old, Record record) const
{
    auto const& last = current(old);
    record.sequence = last.sequence + 1;
    record.seal();
    auto const offset = records(slot, 1).begin;
    if (last.sequence == 0)
        return file_.write(offset, RecordPair{record, record});
    std::int64_t const older = &last == old.data() ? sizeof(Record) : 0;
    return file_.write(offset + older, record);
}

std::variant<RangeFilePtr, Failure> RangeFiles::find(std::string const& stem)
{
    if (auto const found = open_.find(stem); found != open_.end())
        return found->second;
    auto const name = file_name(stem);
    auto file = directory_.open_file(directory_.ranges(), name, O_RDWR);
    if (!file && errno == ENOENT)
        return RangeFilePtr();
    auto const shown = directory_.path() + ": file " + name;
    if (!file)
        return failed_call(errno, shown);
    auto const header = file.read<RangeHeader>(0);
    if (header.magic != RangeHeader{}.magic)
        return Failure::refused(errc::protocol_error, shown + " is not of this format: delete it", true);
    // the names of long stems have only a hash of their end
    if (std::string_view(header.stem.data(), std::min<std::size_t>(header.stem_length, header.stem.size())) != stem)
        return Failure::refused(errc::key_conflict, shown + " is that of another key: use another name", true);
    if (open_.size() >= most_open_ranges)
        std::erase_if(open_, [](auto const& entry) { return entry.second.use_count() == 1; });
    return open_[stem] = std::make_shared<RangeFile>(std::move(file), stem);
}

int RangeFiles::make(std::string const& name, std::string const& stem, Runtime& runtime) const
{
    HolderId random;
    runtime.random_bytes(random.bytes);
    auto const draft = "." + random.text();
    auto const file = directory_.create_file(directory_.ranges(), draft);
    if (!file)
        return errno;
    RangeHeader header;
    header.stem_length = static_cast<std::uint32_t>(stem.size());
    std::ranges::copy(stem, header.stem.begin());
    auto const folder = directory_.ranges().number();
    // it appears under its name when it is complete
    bool const made = ::posix_fallocate(file.number(), 0, entries_at) == 0 && file.write(0, header) &&
                      (::linkat(folder, draft.c_str(), folder, name.c_str(), 0) == 0 || errno == EEXIST);
    int const error = made ? 0 : errno;
    ::unlinkat(folder, draft.c_str(), 0);
    return error;
}

std::variant<RangeFilePtr, Failure> RangeFiles::find_or_make(std::string const& stem, Runtime& runtime)
{
    auto found = find(stem);
    if (std::holds_alternative<Failure>(found) || std::get<RangeFilePtr>(found) != nullptr)
        return found;
    if (int const error = make(file_name(stem), stem, runtime); error != 0)
        return failed_call(error, "cannot make a file in " + directory_.path());
    return find(stem);
}

} // namespace tenure::file
