#compdef everthread
_everthread() {
	local -a found
	found=("${(@f)$("${words[1]}" completion words -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
	if [[ -n "${found[1]}" ]]; then
		compadd -a found
	else
		_files
	fi
}
compdef _everthread everthread
